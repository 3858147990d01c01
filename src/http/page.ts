/** Pages for people, made of escaped text: they have no scripts, load nothing, and are shown in no frame. */
import type { Answer, Headers } from './answer.js';
import type { Exchange } from './exchange.js';
import { bytesSource } from './streams/sized-response.js';

/** Text that a browser takes as HTML. Only `html` makes it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Text, or markup. */
export type Part = Markup | readonly Markup[] | string | number;

/** HTML with values in it: text is escaped, and markup stays as it is. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(texts.map((text, index) => text + markupOf(parts[index] ?? '')).join(''));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function markupOf(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return String(part).replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '');
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
const HEADERS: Headers = [
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', POLICY],
  ['X-Content-Type-Options', 'nosniff'],
];

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}' +
  'table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0}' +
  '@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}}';

export function sendPage(exchange: Exchange, title: string, content: Markup): Answer {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <style>
          ${new Markup(STYLE)}
        </style>
      </head>
      <body>
        <h1>${title}</h1>
        ${content}
      </body>
    </html> `;
  return send(exchange, 'text/html; charset=utf-8', page.text);
}

export function sendText(exchange: Exchange, text: string): Answer {
  return send(exchange, 'text/plain; charset=utf-8', text);
}

function send(exchange: Exchange, media: string, text: string): Answer {
  const bytes = Buffer.from(text);
  exchange.streamSized(media, HEADERS, bytes.length, bytesSource(bytes));
  return 'streamed';
}
