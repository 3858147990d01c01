import '../../../http/streams/tail-response.test.js';
