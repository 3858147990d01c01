/** How a browser is told to keep what it gets, and under which name (RFC 6266). */

/** Neither of them can be told, whatever a name says. */
// eslint-disable-next-line no-control-regex -- control characters are what is left out
const UNTELLABLE = /[\0-\x1f\x7f/\\]/g;
// eslint-disable-next-line no-control-regex -- all of ASCII
const NOT_ASCII = /[^\x00-\x7f]/u;

/** The plain form for names in ASCII, which all clients know; with others, the exact form besides. */
export function attachmentHeader(filename: string): readonly [string, string] {
  const name = Buffer.from(filename).toString().replace(UNTELLABLE, '_');
  const plain = name.replace(new RegExp(NOT_ASCII, 'gu'), '_').replaceAll('"', '\\"');
  const exact = NOT_ASCII.test(name) ? exactForm(name) : '';
  return ['Content-Disposition', `attachment; filename="${plain}"${exact}`];
}

function exactForm(name: string): string {
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `; filename*=UTF-8''${encoded}`;
}
