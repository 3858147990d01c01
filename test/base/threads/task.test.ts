import t from 'tap';
import { Refusal } from '../../../src/base/errors/errors.js';
import { performTask, type TaskFailure } from '../../../src/base/threads/task.js';

/** The error that crosses the border when a task throws this one. */
async function failureOf(thrown: unknown): Promise<TaskFailure> {
  const table = {
    fail() {
      throw thrown;
    },
  };
  const outcome = await performTask(table, { task: 'fail', input: undefined });
  if (!('failure' in outcome)) throw new Error('the task did not fail');
  return structuredClone(outcome.failure);
}

const systemError = (code: string, path?: string): Error =>
  Object.assign(new Error(`${code}: it failed, open '${path ?? ''}'`), {
    code,
    ...(path === undefined ? {} : { path }),
  });

void t.test('the named task gets the input, and its value is the outcome', async (t) => {
  const table = {
    double: (input: number) => input * 2,
    later: (input: number) => Promise.resolve(input + 1),
  };
  t.same(await performTask(table, { task: 'double', input: 21 }), { value: 42 });
  t.same(await performTask(table, { task: 'later', input: 41 }), { value: 42 });
});

void t.test('an unknown task is a failure and not an exception', async (t) => {
  const outcome = await performTask({}, { task: 'nothing', input: undefined });
  t.match(outcome, { failure: { message: 'Unknown task nothing', status: undefined } });
});

void t.test('a refusal crosses with its status and its code, and without a stack', async (t) => {
  t.same(await failureOf(new Refusal(418, 'teapot', 'no tea')), {
    message: 'no tea',
    status: 418,
    code: 'teapot',
    stack: undefined,
  });
});

void t.test('a failed system call crosses as what a client may be told', async (t) => {
  const statuses = [
    ['ENOENT', 404, 'file_missing'],
    ['EACCES', 403, 'file_forbidden'],
    ['ELOOP', 403, 'file_forbidden'],
    ['EISDIR', 409, 'is_directory'],
    ['ENOTDIR', 409, 'not_directory'],
    ['ENAMETOOLONG', 400, 'file_name_too_long'],
    ['ENOSPC', 507, 'disk_full'],
    ['EDQUOT', 507, 'disk_full'],
  ] as const;
  for (const [name, status, code] of statuses) {
    const failure = await failureOf(systemError(name, '/secret/place/file'));
    t.match(failure, { status, code, stack: undefined }, name);
  }
});

void t.test('the path of this host is not told', async (t) => {
  const failure = await failureOf(systemError('EISDIR', '/secret/place/file'));
  t.equal(failure.message, "Is a directory: 'file'");
  t.notMatch((await failureOf(systemError('ENOENT', '/secret/place/file'))).message, /secret/);
});

void t.test('methods that every object has are no tasks', async (t) => {
  t.match(await performTask({}, { task: 'toString', input: undefined }), {
    failure: { message: 'Unknown task toString' },
  });
});

void t.test('a fault of ours crosses with its stack and without a status', async (t) => {
  const failure = await failureOf(new RangeError('out of luck'));
  t.match(failure, { message: 'out of luck', status: undefined, stack: /RangeError: out of luck/ });
  t.match(await failureOf(systemError('EMFILE')), { status: undefined, stack: /EMFILE/ });
  t.same(await failureOf('just text'), {
    message: 'just text',
    status: undefined,
    code: undefined,
    stack: undefined,
  });
});
