import '../../durability/archive-faults.test.js';
