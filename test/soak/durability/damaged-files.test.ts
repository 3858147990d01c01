import '../../durability/damaged-files.test.js';
