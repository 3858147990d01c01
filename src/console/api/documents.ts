/** Documents and files that a browser opens by itself. */

/** The description of the interface. */
export const INTERFACE_DOCUMENT = 'v2/openapi.json';

/** The same for people. */
export const INTERFACE_PAGE = 'docs';

/** The web UI of GNS3, where the server has a copy. */
export const WEB_UI = 'static/web-ui/bundled';

/** The terminal of a node, a document of its own. */
export const terminalDocument = (lab: string, node: string): string =>
  `terminal.html?lab=${encodeURIComponent(lab)}&node=${encodeURIComponent(node)}`;
