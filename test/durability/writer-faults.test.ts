/** The server is killed, or the disk fails, at operations that each writer of files takes. */
import { testWriterFaults } from '../support/writer-fault-tests.js';

await testWriterFaults();
