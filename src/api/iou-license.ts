/** The licence of IOU images. */
import { z } from 'zod';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { LONGEST_LICENSE } from '../lab/kinds/iou.js';
import type { Controller } from '../lab/controller.js';
import { nothing } from './schemas.js';

const tag = 'Server';
const path = '/v2/iou_license';

const license = z.strictObject({
  iourc_content: z.string().max(LONGEST_LICENSE),
  license_check: z.boolean(),
});

export function iouLicenseRoutes({ iouLicense }: Controller): Route[] {
  return [
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'admin' },
      summary: 'Show the licence of IOU images',
      params: nothing,
      answers: { 200: license },
      handle: () => json(200, iouLicense.settings),
    }),
    route({
      method: 'PUT',
      path,
      tag,
      access: { right: 'admin' },
      summary: 'Change the licence of IOU images',
      params: nothing,
      body: license.partial(),
      answers: { 201: license },
      handle: async ({ body }) => json(201, await iouLicense.update(body)),
    }),
  ];
}
