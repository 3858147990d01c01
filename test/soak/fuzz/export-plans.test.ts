import '../../fuzz/export-plans.test.js';
