/** The error of a system call that was made without Node, as Node would throw it. */
import { getSystemErrorMap } from 'node:util';

export function systemCallError(number: number, call: string): Error {
  const [code, reason] = getSystemErrorMap().get(-number) ?? [`errno ${number}`, 'unknown'];
  return Object.assign(new Error(`${code}: ${reason}, ${call}`), { code });
}
