/**
 * Stored objects of one sort: the nodes of an open project, the templates of the controller. Requests change the
 * working objects; readers are served from the published texts, the JSON of the last stored state in creation
 * order.
 */
import type { RecordKeeper } from '../../base/store/kept-records.js';
import type { Key, StoredRecord } from '../../base/store/store.js';
import type { Channel } from '../../base/streams/channel.js';
import type { ObjectLimit } from './content-limit.js';
import type { EntityRecord } from './records.js';
import type { Transaction } from './transaction.js';

interface Announcement {
  readonly action: 'created' | 'updated';
  /** The text of the event, if it is not the text of the whole object. */
  readonly event?: string;
}

/** Called for each object when its change is stored. Must not throw. */
interface Follower<Entity> {
  stored(object: Entity): void;
  removed(object: Entity): void;
}

export class Collection<Entity> {
  readonly #name: string;
  readonly #keyOf: (id: string) => Key;
  readonly #channel: Channel;
  /** The JSON text of an object as clients see it. */
  readonly textOf: (entity: Entity) => string;
  readonly #follower: Follower<Entity> | undefined;
  readonly #limit: ObjectLimit | undefined;
  /** Lengths of the texts that count for the limit. */
  readonly #lengths = new Map<string, number>();
  readonly #working = new Map<string, EntityRecord<Entity>>();
  readonly #published = new Map<string, { readonly text: string; readonly object: Entity }>();
  /** The list of the published texts, if it was asked for since the last change; weak, so that idle projects keep none. */
  #list: WeakRef<Uint8Array> | undefined;
  #nextOrder = 0;

  /** `name` is the word for one object in notifications. */
  constructor(
    name: string,
    keyOf: (id: string) => Key,
    channel: Channel,
    textOf: (entity: Entity) => string,
    follower?: Follower<Entity>,
    limit?: ObjectLimit,
  ) {
    this.#name = name;
    this.#keyOf = keyOf;
    this.#channel = channel;
    this.textOf = textOf;
    this.#follower = follower;
    this.#limit = limit;
  }

  get size(): number {
    return this.#working.size;
  }

  get(id: string): Entity | undefined {
    return this.#working.get(id)?.object;
  }

  ids(): Iterable<string> {
    return this.#working.keys();
  }

  *values(): Generator<Entity> {
    for (const { object } of this.#working.values()) yield object;
  }

  published(id: string): string | undefined {
    return this.#published.get(id)?.text;
  }

  *publishedTexts(): Generator<string> {
    for (const { text } of this.#published.values()) yield text;
  }

  /** The JSON list of the published texts. Callers share the bytes, and must not change them. */
  publishedList(): Uint8Array {
    const known = this.#list?.deref();
    if (known !== undefined) return known;
    const list = Buffer.from(`[${[...this.publishedTexts()].join(',')}]`);
    this.#list = new WeakRef(list);
    return list;
  }

  /** The objects as they were last stored. */
  *publishedObjects(): Generator<Entity> {
    for (const { object } of this.#published.values()) yield object;
  }

  /** Takes over a stored record without announcing it; records come in creation order. */
  load(id: string, record: EntityRecord<Entity>): void {
    this.#working.set(id, record);
    this.#nextOrder = Math.max(this.#nextOrder, record.order + 1);
  }

  /** Keeps the stored records of a collection without a limit: takes each over, publishes and announces it. */
  keeper(at: Key): RecordKeeper {
    const orderOf = ({ value }: StoredRecord): number => (value as EntityRecord<Entity>).order;
    return {
      at,
      takeOver: (key, value) => {
        this.#takeOver(key[at.length] ?? '', value as EntityRecord<Entity> | undefined);
      },
      inOrder: (a, b) => orderOf(a) - orderOf(b),
    };
  }

  /** Takes over an object that is not stored; comes before all others. */
  loadBuiltin(id: string, object: Entity): void {
    this.load(id, { order: this.#nextOrder, object });
  }

  /** Publishes and announces all loaded objects. */
  publishLoaded(): void {
    for (const id of this.ids()) this.publishOne(id);
  }

  /** Publishes and announces one loaded object. */
  publishOne(id: string): void {
    const object = this.get(id);
    if (object === undefined) return;
    const text = this.textOf(object);
    this.#limit?.load(1, text.length);
    this.#keepLength(id, text.length);
    this.#publish(id, text, object);
    this.#follower?.stored(object);
    this.#channel.emit(`${this.#name}.created`, text);
  }

  /** Stores a new or changed object; returns its text. */
  put(transaction: Transaction, id: string, object: Entity, announcement?: Announcement): string {
    const before = this.#working.get(id);
    const record = { order: before?.order ?? this.#nextOrder++, object };
    this.#working.set(id, record);
    transaction.onUndo(() => {
      if (before === undefined) this.#working.delete(id);
      else this.#working.set(id, before);
    });
    const text = this.textOf(object);
    transaction.onUndo(this.#count(id, text.length));
    transaction.store({ put: this.#keyOf(id), value: record });
    transaction.onStored(() => {
      this.#publish(id, text, object);
      this.#follower?.stored(object);
      if (announcement === undefined) return;
      this.#channel.emit(`${this.#name}.${announcement.action}`, announcement.event ?? text);
    });
    return text;
  }

  /** Renews the text of an unchanged object that shows something which has changed. */
  refresh(transaction: Transaction, id: string, action?: Announcement['action']): void {
    transaction.onStored(() => {
      const object = this.get(id);
      if (object === undefined) return;
      const text = this.textOf(object);
      this.#publish(id, text, object);
      if (action !== undefined) this.#channel.emit(`${this.#name}.${action}`, text);
    });
  }

  /** Calls the follower for an unchanged object again, because something that belongs to it has changed. */
  retell(transaction: Transaction, id: string): void {
    transaction.onStored(() => {
      const object = this.get(id);
      if (object !== undefined) this.#follower?.stored(object);
    });
  }

  remove(transaction: Transaction, id: string): void {
    const before = this.get(id);
    if (before === undefined) return;
    const text = this.textOf(before);
    this.withdraw(transaction, id);
    transaction.onStored(() => {
      this.#channel.emit(`${this.#name}.deleted`, text);
    });
  }

  /** Removes an object without announcing it. */
  withdraw(transaction: Transaction, id: string): void {
    const before = this.#working.get(id);
    if (before === undefined) return;
    this.#working.delete(id);
    transaction.onUndo(() => this.#working.set(id, before));
    transaction.onUndo(this.#count(id, undefined));
    transaction.store({ remove: this.#keyOf(id) });
    transaction.onStored(() => {
      this.#unpublish(id);
      this.#follower?.removed(before.object);
    });
  }

  #publish(id: string, text: string, object: Entity): void {
    this.#published.set(id, { text, object });
    this.#list = undefined;
  }

  #unpublish(id: string): void {
    this.#published.delete(id);
    this.#list = undefined;
  }

  #takeOver(id: string, record: EntityRecord<Entity> | undefined): void {
    const before = this.#published.get(id);
    if (record !== undefined) {
      this.load(id, record);
      const text = this.textOf(record.object);
      this.#publish(id, text, record.object);
      this.#follower?.stored(record.object);
      this.#channel.emit(`${this.#name}.${before === undefined ? 'created' : 'updated'}`, text);
    } else if (before !== undefined) {
      this.#working.delete(id);
      this.#unpublish(id);
      this.#follower?.removed(before.object);
      this.#channel.emit(`${this.#name}.deleted`, before.text);
    }
  }

  /** Counts the object's text for the limit; `length` is undefined when the object goes. Returns the undo. */
  #count(id: string, length: number | undefined): () => void {
    const before = this.#lengths.get(id);
    const objects = Number(length !== undefined) - Number(before !== undefined);
    const characters = (length ?? 0) - (before ?? 0);
    this.#limit?.add(objects, characters);
    this.#keepLength(id, length);
    return () => {
      this.#limit?.takeBack(objects, characters);
      this.#keepLength(id, before);
    };
  }

  #keepLength(id: string, length: number | undefined): void {
    if (length === undefined) this.#lengths.delete(id);
    else this.#lengths.set(id, length);
  }
}
