import '../../fuzz/stored-files.test.js';
