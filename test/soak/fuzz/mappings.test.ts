import '../../fuzz/mappings.test.js';
