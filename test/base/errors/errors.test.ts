import t from 'tap';
import {
  archiveFault,
  isRefusal,
  Refusal,
  refusalOfSystemError,
  refusals,
  systemCode,
} from '../../../src/base/errors/errors.js';

/** Every refusal of the table, made with arguments that can be told apart. */
function all(): [string, Refusal][] {
  const { labFileRefused, computeRefused, ...others } = refusals;
  const ofFaults = labFileRefused([{ path: ['nodes', 'R1'], reason: 'it is odd' }]);
  const ofWords = Object.entries(others).map(([name, make]): [string, Refusal] => {
    const words = Array.from({ length: 5 }, (_, index) => `<${name}-${index}>`);
    return [name, (make as (...words: readonly string[]) => Refusal)(...words)];
  });
  const ofStatus = computeRefused('there', 409, 'it is odd, too');
  return [...ofWords, ['labFileRefused', ofFaults], ['computeRefused', ofStatus]];
}

void t.test('every refusal has a status of an error and says something', (t) => {
  for (const [name, refusal] of all()) {
    t.ok(refusal instanceof Refusal, name);
    t.ok(Number.isInteger(refusal.status) && refusal.status >= 400 && refusal.status <= 599, name);
    t.ok(refusal.message.length > 5, name);
    t.notMatch(refusal.message, /undefined|\[object/, name);
  }
  t.end();
});

void t.test('no two refusals say the same', (t) => {
  const messages = all().map(([, refusal]) => `${refusal.status} ${refusal.message}`);
  t.equal(new Set(messages).size, messages.length);
  t.end();
});

void t.test('every refusal has a code of its own', (t) => {
  const codes = all().map(([, refusal]) => refusal.code);
  t.equal(new Set(codes).size, codes.length);
  for (const code of codes) t.match(code, /^[a-z]+(_[a-z]+)*$/);
  t.end();
});

void t.test('refusals are told by their codes', (t) => {
  t.ok(isRefusal(refusals.jobCancelled(), 'project_unknown', 'job_cancelled'));
  t.notOk(isRefusal(refusals.jobCancelled(), 'project_unknown'));
  t.notOk(isRefusal(refusals.jobCancelled()));
  t.notOk(isRefusal(Object.assign(new Error('no refusal'), { code: 'job_cancelled' }), 'job_cancelled'));
  t.end();
});

void t.test('the code of a refusal is not taken for one of the system', (t) => {
  t.equal(systemCode(Object.assign(new Error('gone'), { code: 'ENOENT' })), 'ENOENT');
  t.equal(systemCode(refusals.fileForbidden()), undefined);
  t.equal(systemCode(new Error('no code')), undefined);
  t.equal(systemCode('ENOENT'), undefined);
  t.end();
});

void t.test('a fault of an archive is told without what was done with it', (t) => {
  t.equal(archiveFault(refusals.importNoArchive()), 'not a GNS3 project (invalid zip)');
  t.equal(archiveFault(refusals.importNoTopology()), 'project.gns3 file could not be found');
  t.equal(archiveFault(refusals.importBadTopology()), 'the project.gns3 file is corrupted');
  t.equal(
    archiveFault(refusals.importArchiveRefused('it is empty')),
    'because of the archive as a whole: it is empty. Nothing was changed',
  );
  t.equal(
    archiveFault(refusals.importRefused('a', 'it is odd')),
    "because of 'a' in the archive: it is odd. Nothing was changed",
  );
  t.equal(archiveFault(refusals.importOverProject('x')), undefined);
  t.equal(archiveFault(new Error('Cannot import project, really')), undefined);
  t.end();
});

void t.test('the words that clients match are those of the contract', (t) => {
  const words: readonly (readonly [Refusal, number, string])[] = [
    [refusals.portUsed(), 409, 'Port is already used'],
    [refusals.linkToItself(), 409, 'Cannot connect to itself'],
    [refusals.projectClosed(), 403, 'The project is not opened'],
    [refusals.projectUnknown('x'), 404, "Project ID x doesn't exist"],
    [refusals.nodeUnknown('x'), 404, "Node ID x doesn't exist"],
    [refusals.linkUnknown('x'), 404, "Link ID x doesn't exist"],
    [refusals.drawingUnknown('x'), 404, "Drawing ID x doesn't exist"],
    [refusals.projectExists('x'), 409, 'Project "x" already exists'],
    [refusals.fileMissing(), 404, '404: Not Found'],
    [refusals.switchConnected(), 409, "Can't modify a switch already connected."],
    [refusals.nodeLocked('x'), 409, 'Node x cannot be deleted because it is locked'],
  ];
  for (const [refusal, status, message] of words) t.match(refusal, { status, message });
  t.end();
});

void t.test('a full disk keeps its cause for the log', (t) => {
  const cause = new Error('ENOSPC');
  t.equal(refusals.diskFull(cause).cause, cause);
  t.end();
});

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
