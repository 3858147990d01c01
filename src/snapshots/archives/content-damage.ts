/** The compressed content of a member is not what it should be; the message tells why, in the words of a refusal. */
export class ContentDamage extends Error {
  override readonly name = 'ContentDamage';
}
