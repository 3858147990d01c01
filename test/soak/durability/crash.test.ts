import '../../durability/crash.test.js';
