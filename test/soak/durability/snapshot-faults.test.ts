import '../../durability/snapshot-faults.test.js';
