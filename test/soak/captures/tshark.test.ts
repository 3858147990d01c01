import '../../captures/tshark.test.js';
