/** The terminal of one node: a document of its own, in a tile of the console or in a window. */
import { render } from 'preact';
import { findAccount } from '../state/account.js';
import { TerminalView } from './terminal-view.js';
import { TERMINAL_TEXTS } from './texts.js';

const query = new URLSearchParams(location.search);
const [lab, node] = [query.get('lab'), query.get('node')];
const root = document.getElementById('app');
void findAccount();
if (root !== null)
  render(
    lab === null || node === null ? (
      <main>
        <p class="notice failure">{TERMINAL_TEXTS.noAddress}</p>
      </main>
    ) : (
      <TerminalView lab={lab} node={node} />
    ),
    root,
  );
