import '../../durability/restore-faults.test.js';
