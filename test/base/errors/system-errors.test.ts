import t from 'tap';
import { refusalOfSystemError } from '../../../src/base/errors/errors.js';

void t.test('a failed system call is a refusal where a client can mend it, else nothing', (t) => {
  const statuses: Readonly<Record<string, number>> = {
    ENOSPC: 507,
    EDQUOT: 507,
    ENOENT: 404,
    EACCES: 403,
    EPERM: 403,
    EROFS: 403,
    ELOOP: 403,
    ENXIO: 403,
    EISDIR: 409,
    ENOTDIR: 409,
    ENAMETOOLONG: 400,
  };
  for (const [code, status] of Object.entries(statuses)) {
    t.equal(refusalOfSystemError(code, 'file')?.status, status, code);
  }
  for (const code of [undefined, '', 'EIO', 'EMFILE', 'EBADF', 'ERR_INVALID_ARG_TYPE']) {
    t.equal(refusalOfSystemError(code, 'file'), undefined, String(code));
  }
  t.end();
});
