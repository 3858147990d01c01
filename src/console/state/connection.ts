/** Whether the server is heard. */
import { signal } from '@preact/signals';
import { listenToServer } from '../api/notifications.js';

export const connection = signal<'connecting' | 'live' | 'http' | 'lost'>('connecting');

/** Counts the times that the server was found again: what is shown has to be read anew then. */
export const reconnections = signal(0);

/** Returns the function that ends it. */
export function watchConnection(): () => void {
  return listenToServer((isOpen, way) => {
    if (isOpen && connection.value === 'lost') reconnections.value++;
    const how = way === 'http' ? 'http' : 'live';
    connection.value = isOpen ? how : 'lost';
  });
}
