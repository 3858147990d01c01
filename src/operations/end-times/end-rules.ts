/** How long labs last: the usual and the longest times of the roles of their owners. Pure. */
import { ROLES, type Role } from '../../lab/access/roles.js';

/** In seconds. */
export interface Span {
  readonly usual: number;
  /** Undefined is no limit. */
  readonly most: number | undefined;
}

type Spans = Readonly<Partial<Record<Role, Span>>>;

export interface EndRules {
  /** How long a lab lasts from its opening on. */
  readonly lasts: Spans;
  /** How long nobody uses a lab that ends then. */
  readonly idle: Spans;
}

/** The end of a lab as its people have set it. What is absent is as usual; null is none. */
export interface EndTime {
  /** Milliseconds since 1970. */
  readonly endsAt?: number | null;
  /** In seconds. */
  readonly idleAfter?: number | null;
  /** So many seconds before its end a lab is warned. */
  readonly noticeSeconds?: number;
  /** Whether nobody has set the end: it counts from one opening of the lab to its closing. */
  readonly isUsual?: boolean;
  /** Whether a snapshot is made first. */
  readonly snapshot: boolean;
}

/** A warning comes so long before an end, or with the wish for an end that is nearer. */
export const NOTICE_SECONDS = 3600;

/** The role that counts for a lab with several owners; undefined for a lab that is nobody's. */
export function furthestRole(roles: readonly Role[]): Role | undefined {
  return ROLES.find((role) => roles.includes(role));
}

/** The part of an idle span that lies between the warning and the end. */
export function idleNoticeSeconds(idleAfter: number): number {
  return Math.min(NOTICE_SECONDS, idleAfter / 2);
}
