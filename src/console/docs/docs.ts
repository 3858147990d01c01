/** The description of the interface, in which each call can be tried: swagger-ui over the server's own document. */
import SwaggerUI from 'swagger-ui-dist/swagger-ui-bundle.js';
import { OWN_HEADERS } from '../api/call.js';
import { INTERFACE_DOCUMENT } from '../api/documents.js';
import { scheme } from '../state/preferences.js';

const dark = matchMedia('(prefers-color-scheme: dark)');

function adopt(): void {
  const isDark = scheme.value === 'dark' || (scheme.value === 'system' && dark.matches);
  document.documentElement.classList.toggle('dark-mode', isDark);
}

scheme.subscribe(adopt);
dark.addEventListener('change', adopt);

const root = document.getElementById('app');
if (root !== null)
  SwaggerUI({
    url: INTERFACE_DOCUMENT,
    domNode: root,
    // All of it at once takes seconds to draw.
    docExpansion: 'none',
    filter: true,
    // Nothing is asked of others.
    validatorUrl: null,
    requestInterceptor: (request) => {
      Object.assign(request.headers, OWN_HEADERS);
      return request;
    },
  });
