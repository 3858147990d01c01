/** The settings of the server, read again. */
import { z } from 'zod';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { SettingsReload } from '../operations/settings-reload.js';
import { nothing } from './schemas.js';

const reloaded = z.strictObject({
  /** Settings that count from now on. */
  changed: z.array(z.string()).readonly(),
  /** Settings that would count after another start. */
  at_start: z.array(z.string()).readonly(),
});

export function settingsRoutes(reload: SettingsReload['reload']): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v2/admin/reload',
      tag: 'Operations',
      access: { right: 'admin' },
      summary: 'Read the settings again, whole or not at all',
      params: nothing,
      answers: { 200: reloaded },
      handle: async () => json(200, await reload()),
    }),
  ];
}
