/** Reads the folder of appliance files in a worker thread. */
import { readdirSync } from 'node:fs';
import { extname } from 'node:path';
import { z } from 'zod';
import { containedPath } from '../../base/disk/containment.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { systemCode } from '../../base/errors/errors.js';
import { describeIssues, fitted, jsonShape } from '../../base/errors/validation.js';
import type { TaskTable } from '../../base/threads/task.js';

/** A file that is no appliance, or one too many. */
interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

export interface ApplianceTasks extends TaskTable {
  /**
   * The appliances below the folder as JSON, by the names of their files. `symbols` are those of the theme, by category.
   * A folder that is not there has none.
   */
  readonly readAppliances: (input: { folder: string; symbols: Readonly<Record<string, string>> }) => {
    text: string;
    leftOut: LeftOut[];
  };
}

const EXTENSIONS = ['.gns3a', '.gns3appliance'];
const MOST_FILES = 5000;
const LARGEST_FILE = 1024 * 1024;
/** In characters of the answer: several times what the public registry has. */
const MOST_TEXT = 16 * 1024 * 1024;
const DEEPEST = 100;

const text = z.string();
/** Clients read these fields of every appliance; the rest of the file is theirs. */
const appliance = z
  .looseObject({
    category: z.enum(['router', 'multilayer_switch', 'switch', 'firewall', 'guest']),
    description: text,
    maintainer: text,
    maintainer_email: text,
    name: text.min(1).max(255),
    product_name: text,
    registry_version: z.int().min(1),
    status: z.enum(['stable', 'experimental', 'broken']),
    symbol: text.max(255).optional(),
    vendor_name: text,
    vendor_url: text,
  })
  .refine(
    (file) => ['docker', 'dynamips', 'iou', 'qemu', 'settings'].some((emulator) => emulator in file),
    'must say how the appliance runs: docker, dynamips, iou, qemu or settings',
  );

export const applianceTasks: ApplianceTasks = {
  readAppliances({ folder, symbols }) {
    const texts: string[] = [];
    const leftOut: LeftOut[] = [];
    let length = 0;
    for (const [index, name] of applianceFiles(folder).entries()) {
      try {
        if (index >= MOST_FILES || length >= MOST_TEXT) throw new Error('there are too many appliances');
        const found = readAppliance(folder, name);
        // Its makers know that it does not work.
        if (found.status === 'broken') continue;
        const shown = JSON.stringify({ ...found, builtin: false, symbol: symbolOf(found, symbols) });
        length += shown.length;
        texts.push(shown);
      } catch (error) {
        leftOut.push({ name, reason: error instanceof Error ? error.message : String(error) });
      }
    }
    return { text: `[${texts.join(',')}]`, leftOut };
  },
};

function applianceFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => EXTENSIONS.includes(extname(name).toLowerCase()))
      .sort();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function readAppliance(folder: string, name: string): z.output<typeof appliance> {
  const content = readRegularFile(containedPath(folder, name), LARGEST_FILE).toString('utf8');
  if (jsonShape(content).depth > DEEPEST) throw new Error(`its brackets nest deeper than ${DEEPEST}`);
  const parsed = fitted(appliance, JSON.parse(content));
  if (!parsed.success) throw new Error(describeIssues(parsed.error));
  return parsed.data;
}

/** An appliance may bring a symbol of its own; the theme has the built-in ones. */
function symbolOf(
  { symbol = '', ...file }: z.output<typeof appliance>,
  symbols: Readonly<Record<string, string>>,
): string | undefined {
  if (symbol !== '' && !symbol.startsWith(':/symbols/')) return symbol;
  return symbols[categoryOf(file)] ?? symbols['computer'];
}

function categoryOf(file: Readonly<Record<string, unknown>>): string {
  if (file['category'] === 'switch') return 'ethernet_switch';
  if (file['category'] !== 'guest') return String(file['category']);
  if ('docker' in file) return 'docker_guest';
  return 'qemu' in file || 'settings' in file ? 'qemu_guest' : 'computer';
}
