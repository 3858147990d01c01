import '../../uploads-downloads/large-image.test.js';
