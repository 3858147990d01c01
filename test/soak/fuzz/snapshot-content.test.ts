import '../../fuzz/snapshot-content.test.js';
