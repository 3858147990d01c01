import '../hostile-requests.test.js';
