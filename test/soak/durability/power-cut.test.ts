import '../../durability/power-cut.test.js';
