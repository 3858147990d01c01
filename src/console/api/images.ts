/** Images of emulators, and where they are sent. */
import type { ImageShape, ImageUsesShape } from '../../api/shapes/images.js';
import { OWN_HEADERS, segment, type Call } from './call.js';

export const IMAGE_KINDS = ['qemu', 'iou', 'dynamips'] as const;
export type ImageKind = (typeof IMAGE_KINDS)[number];

const all = (kind: ImageKind): string => `v2/compute/${kind}/images`;

export const listImages = (kind: ImageKind): Call<ImageShape[]> => ({ method: 'GET', path: all(kind) });

export const listImageUses = (kind: ImageKind): Call<ImageUsesShape> => ({
  method: 'GET',
  path: `v2/images/${kind}/uses`,
});

export const renameImage = (kind: ImageKind, filename: string, to: string): Call<unknown> => ({
  method: 'POST',
  path: `v2/images/${kind}/rename`,
  body: { filename, to },
});

/** The address of an image, for a download. */
export const imageAddress = (kind: ImageKind, name: string): string =>
  `${all(kind)}/${name.split('/').map(segment).join('/')}`;

export const deleteImage = (kind: ImageKind, name: string): Call<void> => ({
  method: 'DELETE',
  path: imageAddress(kind, name),
});

/** The place and the headers of resumable uploads, which a library sends. */
export const uploadPlace = (): { endpoint: string; headers: Record<string, string> } => ({
  endpoint: new URL('v2/uploads', document.baseURI).href,
  headers: { ...OWN_HEADERS },
});
