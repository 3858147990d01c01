/** Documents and files that a browser opens by itself. */

/** The description of the interface. */
export const INTERFACE_DOCUMENT = 'v2/openapi.json';
