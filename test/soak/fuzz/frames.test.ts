import '../../fuzz/frames.test.js';
