/** `wirefarm doctor --bundle FILE`: an examination, the settings and the figures, packed with logs and history. */
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { join } from 'node:path';
import { messageOf } from '../base/errors/errors.js';
import { PRODUCT } from '../base/product.js';
import type { BundlePart } from '../operations/doctor/bundle.js';
import { examinationText } from '../operations/doctor/diagnosis.js';
import { Doctor } from '../operations/doctor/doctor.js';
import { ConfigError } from './config-error.js';
import type { BundleWishes, Config, GivenSettings } from './config.js';
import { patientOf } from './doctor.js';
import { HISTORY } from './folders.js';
import { OPTION_LIST, variableOf } from './settings.js';

const METRICS_LIMIT_MS = 20_000;
const MOST_OF_METRICS = 4 * 1024 * 1024;

/** Returns the exit code: 0 when the file is written, whatever was found. */
export async function bundleHost(
  config: Config,
  given: GivenSettings,
  { bundle, log, url }: BundleWishes,
): Promise<number> {
  const doctor = new Doctor(patientOf(config));
  const examination = await doctor.examine();
  const notes = await doctor.pack({
    target: bundle,
    parts: [
      ['examination.json', `${JSON.stringify(examination, null, 2)}\n`],
      ['examination.txt', examinationText(examination)],
      ['settings.env', settingsText(given)],
      ['metrics.txt', await metricsPart(config, url)],
    ],
    ...{ log, accessLog: config.accessLog },
    history: join(config.data, HISTORY),
    secrets: secretsOf(config),
  });
  process.stdout.write(
    `${bundle} has the examination (${examination.level}), settings, figures, logs and history, without secrets\n` +
      notes.map((note) => `  without ${note}\n`).join(''),
  );
  return 0;
}

function settingsText(given: GivenSettings): string {
  const lines = OPTION_LIST.map(({ name, isSecret }) => {
    const text = given[name] ?? '';
    return `${variableOf(name)}=${isSecret === true && text !== '' ? '***' : text}\n`;
  });
  return `# ${PRODUCT.name} ${PRODUCT.version}, Node.js ${process.version}\n${lines.join('')}`;
}

function secretsOf({ credentials }: Config): string[] {
  if (credentials === undefined) return [];
  return [credentials.password, basicOf(credentials)];
}

function basicOf({ user, password }: NonNullable<Config['credentials']>): string {
  return Buffer.from(`${user}:${password}`).toString('base64');
}

/** The figures of the server, when it runs and gives them to the user of the settings. */
async function metricsPart(config: Config, url: string | undefined): Promise<BundlePart[1]> {
  const address = new URL('/metrics', url === undefined ? localUrl(config) : serverUrl(url));
  try {
    return await textAt(address, config, url !== undefined);
  } catch (error) {
    return { note: messageOf(error) };
  }
}

function localUrl({ host, port, certificate }: Config): string {
  const local = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${certificate === undefined ? 'http' : 'https'}://${local}:${port}`;
}

function serverUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new ConfigError(`--url: '${url}' is no address of a server`);
}

/** The certificate of a server of this host may be for any name. */
function textAt(url: URL, { credentials }: Config, isChecked: boolean): Promise<string> {
  const get = url.protocol === 'https:' ? getSecure : getPlain;
  const headers = credentials === undefined ? {} : { authorization: `Basic ${basicOf(credentials)}` };
  const signal = AbortSignal.timeout(METRICS_LIMIT_MS);
  return new Promise((resolve, reject) => {
    const sent = get(url, { headers, signal, rejectUnauthorized: isChecked }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        if (text.length < MOST_OF_METRICS) text += piece;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${url.href} answers ${response.statusCode ?? ''}`));
      });
    });
    sent.on('error', reject);
  });
}
