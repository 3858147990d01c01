/** The refusals of accounts, and of what accounts may not do. */
import { Refusal, shortened } from './refusal.js';

export const accessRefusals = {
  unauthorized: () => new Refusal(401, 'unauthorized', 'This server needs a user name and a password'),
  tooManyGuesses: (seconds: number) =>
    new Refusal(503, 'too_many_guesses', 'Too many wrong passwords came from this address: try again later', {
      retryAfterSeconds: seconds,
    }),
  tooManySignIns: (seconds: number) =>
    new Refusal(503, 'too_many_sign_ins', 'Too many passwords are waiting to be checked: try again later', {
      retryAfterSeconds: seconds,
    }),
  rightMissing: (right: string) =>
    new Refusal(403, 'right_missing', `These credentials do not have the right ${right}`),
  grantMissing: (grant: string) =>
    new Refusal(403, 'grant_missing', `This needs the grant ${grant} on the project`),
  grantUnknown: () => new Refusal(404, 'grant_unknown', 'This user has no grant on the project'),
  tokenForProjects: () =>
    new Refusal(403, 'token_for_projects', 'A token for some projects cannot make others'),
  userUnknown: (id: string) => new Refusal(404, 'user_unknown', `User ID ${shortened(id)} doesn't exist`),
  userExists: (name: string) =>
    new Refusal(409, 'user_exists', `A user is called ${shortened(name)} already`),
  tooManyUsers: (limit: number) =>
    new Refusal(409, 'too_many_users', `There are ${limit} users, which is all that is allowed`),
  groupUnknown: (name: string) => new Refusal(404, 'group_unknown', `There is no group ${shortened(name)}`),
  groupExists: (name: string) =>
    new Refusal(409, 'group_exists', `A group is called ${shortened(name)} already`),
  tooManyGroups: (limit: number) =>
    new Refusal(409, 'too_many_groups', `There are ${limit} groups, which is all that is allowed`),
  groupGrantUnknown: () => new Refusal(404, 'group_grant_unknown', 'This group has no grant on the project'),
  lastAdmin: () =>
    new Refusal(
      409,
      'last_admin',
      'Nobody else could administer this server: it needs an admin with a password who is left',
    ),
  firstAdmin: () =>
    new Refusal(
      409,
      'first_user_no_admin',
      'The first user must be an admin with a password, because the server asks for one from then on',
    ),
  signInWrong: () => new Refusal(401, 'sign_in_wrong', 'The name or the password is wrong'),
  sessionEnded: () => new Refusal(401, 'session_ended', 'The session has ended: sign in again'),
  sessionOrigin: () =>
    new Refusal(
      403,
      'session_origin',
      'A session changes something only for pages of this server: other programs send a password or a token',
    ),
  sessionMissing: () => new Refusal(409, 'session_missing', 'These credentials are no session'),
  accountNeeded: () =>
    new Refusal(409, 'account_needed', 'Only a user whom this server has stored has tokens and a password'),
  passwordNeeded: () =>
    new Refusal(403, 'password_needed', 'A token cannot do this: sign in with the password'),
  tokenUnknown: (id: string) => new Refusal(404, 'token_unknown', `Token ID ${shortened(id)} doesn't exist`),
  tooManyTokens: (limit: number) =>
    new Refusal(409, 'too_many_tokens', `A user has at most ${limit} tokens: delete some`),
  ticketRefused: () =>
    new Refusal(
      401,
      'ticket_refused',
      'This ticket does not count: each is for one path, for 30 seconds, and once',
    ),
  ticketPath: () =>
    new Refusal(
      400,
      'ticket_path',
      'There are tickets for captures and consoles of projects, and path leads to neither',
    ),
  tooManyTickets: (seconds: number) =>
    new Refusal(429, 'too_many_tickets', 'Too many tickets wait to be used', { retryAfterSeconds: seconds }),
  tokenExpiry: () =>
    new Refusal(400, 'token_expiry_past', 'expires_at lies in the past: the token could never be used'),
} as const;
