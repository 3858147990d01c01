/** `wirefarm snapshot diff`: the changes of a lab since a snapshot, and the lines of its files, as text for a terminal. */
import { isRecord } from './server.js';

const GROUPS = { nodes: 'node', links: 'link', drawings: 'drawing', files: 'file' } as const;
const MARKS = { added: '+', removed: '-', changed: '~' } as const;
const OF_NODE = /^project-files\/[^/]+\/([^/]+)\/(.+)$/;

/** Names and contents come from strangers: nothing of them may steer the terminal. */
function plainLine(text: string): string {
  return text.replace(
    /[^\P{Cc}\t]/gu,
    (letter) => `\\x${letter.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

/** One line a change. `names` has the names of the lab's nodes by their ids. */
export function changeLines(answer: unknown, names: ReadonlyMap<string, string>): string[] {
  if (!isRecord(answer)) return [];
  const settings = listOf(answer['settings']).map((name) => `~ setting ${name}`);
  const others = Object.entries(GROUPS).flatMap(([group, what]) => {
    const changes = answer[group];
    return Object.entries(MARKS).flatMap(([kind, mark]) =>
      listOf(isRecord(changes) ? changes[kind] : undefined).map(
        (id) => `${mark} ${what} ${what === 'file' ? fileName(id, names) : (names.get(id) ?? id)}`,
      ),
    );
  });
  return [...settings, ...others].map(plainLine);
}

/** The path of a file that a person names: as it is, or below the name of its node. */
export function pathOf(wanted: string, answer: unknown, names: ReadonlyMap<string, string>): string {
  const files = isRecord(answer) && isRecord(answer['files']) ? answer['files'] : {};
  const paths = Object.keys(MARKS).flatMap((kind) => listOf(files[kind]));
  return paths.find((path) => path === wanted || fileName(path, names) === wanted) ?? wanted;
}

/** The changed lines of a file, as `diff -u` has them. */
export function fileLines(answer: unknown): string[] {
  if (!isRecord(answer)) return [];
  const { kind, before, after, hunks, is_cut: isCut } = answer;
  const size = (octets: unknown): string => (typeof octets === 'number' ? `${octets} octets` : 'no file');
  if (kind !== 'text')
    return [
      `${kind === 'large' ? 'too large to be compared' : 'no text'}: then ${size(before)}, now ${size(after)}`,
    ];
  const found = Array.isArray(hunks) ? hunks.filter(isRecord) : [];
  const lines = found.flatMap((hunk) => [
    `@@ -${String(hunk['before'])} +${String(hunk['after'])} @@`,
    ...listOf(hunk['lines']).map(plainLine),
  ]);
  return isCut === true ? [...lines, 'long lines, or a long rest, are left out'] : lines;
}

function fileName(path: string, names: ReadonlyMap<string, string>): string {
  const [, id = '', rest = ''] = OF_NODE.exec(path) ?? [];
  const name = names.get(id);
  return name === undefined ? path : `${name}/${rest}`;
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
