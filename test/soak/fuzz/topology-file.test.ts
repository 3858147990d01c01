import '../../fuzz/topology-file.test.js';
