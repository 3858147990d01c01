import '../../durability/snapshot-errors.test.js';
