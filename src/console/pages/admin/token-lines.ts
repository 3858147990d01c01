/** Lines for programs that have a token in them, ready to be used. */
import { ADMIN_TEXTS } from './texts.js';

const { lines: titles } = ADMIN_TEXTS.tokens;

export function tokenLines(token: string): { readonly label: string; readonly line: string }[] {
  const { href, protocol, host } = new URL('.', document.baseURI);
  const root = href.replace(/\/$/, '');
  return [
    { label: titles.curl, line: `curl -H 'Authorization: Bearer ${token}' ${root}/v2/projects` },
    {
      label: titles.gns3fy,
      line: `from gns3fy import Gns3Connector\nserver = Gns3Connector(url="${root}", user="token", cred="${token}")`,
    },
    {
      label: titles.prometheus,
      line: [
        'scrape_configs:',
        '  - job_name: wirefarm',
        `    scheme: ${protocol.replace(':', '')}`,
        `    metrics_path: ${new URL('metrics', href).pathname}`,
        '    authorization:',
        `      credentials: ${token}`,
        '    static_configs:',
        `      - targets: ['${host}']`,
      ].join('\n'),
    },
  ];
}
