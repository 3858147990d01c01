/** The console: a client of the public interface, and of nothing else. */
import { render, type JSX } from 'preact';
import { Shell } from './parts/shell.js';
import { Toasts } from './parts/toasts.js';
import { SignIn } from './pages/sign-in.js';
import { account, findAccount } from './state/account.js';
import { TEXTS } from './texts.js';

function App(): JSX.Element {
  return (
    <>
      <Content />
      <Toasts />
    </>
  );
}

function Content(): JSX.Element {
  const { value } = account;
  if (value === 'unknown')
    return (
      <main>
        <p class="notice" role="status">
          {TEXTS.starting}
        </p>
      </main>
    );
  return value === 'signed out' ? <SignIn /> : <Shell />;
}

const root = document.getElementById('app');
if (root !== null) render(<App />, root);
void findAccount();
