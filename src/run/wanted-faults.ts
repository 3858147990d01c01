/** A failure as it is told to the controller that wanted something. */
import { messageOf, Refusal } from '../base/errors/errors.js';
import type { WantedFault } from './wanted-shapes.js';

const LONGEST = 1000;

export function faultOf(error: unknown): WantedFault {
  return {
    status: error instanceof Refusal ? error.status : 409,
    message: messageOf(error).slice(0, LONGEST),
  };
}
