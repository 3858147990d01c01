import '../../fuzz/request-headers.test.js';
