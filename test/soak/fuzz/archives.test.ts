import '../../fuzz/archives.test.js';
