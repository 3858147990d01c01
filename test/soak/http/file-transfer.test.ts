import '../../http/file-transfer.test.js';
