/** How the events of the history look in answers. The console takes its type from here. */
import type { z } from 'zod';
import type { rememberedEvent } from '../../operations/history/remembered-event.js';

export type RememberedEventShape = z.output<typeof rememberedEvent>;
