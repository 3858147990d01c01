import '../../durability/writer-faults.test.js';
