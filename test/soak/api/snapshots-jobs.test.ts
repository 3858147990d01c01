import '../../api/snapshots-jobs.test.js';
