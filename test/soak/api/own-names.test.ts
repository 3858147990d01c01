import '../../api/own-names.test.js';
