import '../../durability/lab-files.test.js';
