/** Drawings. */
import t from 'tap';
import { Client } from '../support/client.js';
import { NotificationLog, type Notification } from '../support/notification-log.js';
import { startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const server = await startServer(t);
const client = new Client(server.url);
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const SVG = '<svg height="10" width="10"><rect height="10" width="10"/></svg>';
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });

/** A project of a test's own, and what tests do in it. */
class Lab {
  static #count = 0;
  readonly id: string;
  readonly path: string;
  readonly drawings: string;

  private constructor(id: string) {
    this.id = id;
    this.path = `/v2/projects/${id}`;
    this.drawings = `${this.path}/drawings`;
  }

  static async make(): Promise<Lab> {
    const body = { name: `lab ${++Lab.#count}`, auto_close: false };
    return new Lab(String((await client.expect(201, 'POST', '/v2/projects', body))['project_id']));
  }

  draw(body: Json = {}): Promise<Json> {
    return client.expect(201, 'POST', this.drawings, body);
  }

  at(drawing: Json): string {
    return `${this.drawings}/${String(drawing['drawing_id'])}`;
  }

  async list(): Promise<Json[]> {
    return (await client.get(this.drawings)).body as Json[];
  }

  /** The project's notifications about the work, up to the node that marks its end. */
  async told(work: () => Promise<unknown>): Promise<readonly Notification[]> {
    const stream = await NotificationLog.open(`${server.url}${this.path}/notifications`);
    await work();
    const body = { name: 'marker{0}', node_type: 'ethernet_hub', compute_id: 'local' };
    const { node_id } = await client.expect(201, 'POST', `${this.path}/nodes`, body);
    await stream.next(({ event }) => event['node_id'] === node_id);
    stream.close();
    return stream.received.slice(0, -1);
  }
}

void t.test('a new drawing has the 8 keys and their defaults', async (t) => {
  const lab = await Lab.make();
  for (const body of [undefined, {}]) {
    const reply = await client.post(lab.drawings, body);
    t.equal(reply.status, 201);
    const { drawing_id, ...rest } = reply.body as Json;
    t.match(drawing_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.strictSame(rest, {
      locked: false,
      project_id: lab.id,
      rotation: 0,
      svg: '<svg></svg>',
      x: 0,
      y: 0,
      z: 2,
    });
    const keys = Object.keys(reply.body as Json);
    t.strictSame(keys, [...keys].sort());
    t.strictSame((await client.get(lab.at({ drawing_id }))).body, reply.body);
  }
});

void t.test('a drawing is made as it is asked for, with an id of the client’s choice', async (t) => {
  const lab = await Lab.make();
  const wanted = {
    drawing_id: '0a0a0a0a-0000-4000-8000-000000000001',
    locked: true,
    rotation: -359,
    svg: SVG,
    x: -3,
    y: 4,
    z: 0,
  };
  t.strictSame(await lab.draw(wanted), { ...wanted, project_id: lab.id });
});

void t.test('a known id is answered with the drawing that has it', async (t) => {
  const lab = await Lab.make();
  const drawing = await lab.draw({ svg: SVG });
  const news = await lab.told(async () => {
    const { drawing_id } = drawing;
    t.strictSame(await lab.draw({ drawing_id, x: 99 }), drawing);
  });
  t.strictSame(news, []);
  t.strictSame(await lab.list(), [drawing]);
});

void t.test('a drawing that was read can be sent back, and posted to another project', async (t) => {
  const [lab, other] = [await Lab.make(), await Lab.make()];
  const drawing = await lab.draw({ svg: SVG, x: 5 });
  t.strictSame(await client.expect(201, 'PUT', lab.at(drawing), drawing), drawing);
  t.strictSame(await other.draw(drawing), { ...drawing, project_id: other.id });
});

void t.test('pictures are kept whole, however long and in whatever script', async (t) => {
  const lab = await Lab.make();
  for (const length of [499, 500, 1001, 200_000]) {
    const svg = `<svg><text>${'Größe 大きさ 📐 "&amp;" '.repeat(length / 20)}</text></svg>`;
    const drawing = await lab.draw({ svg });
    t.equal(drawing['svg'], svg, `${length}`);
    await client.expect(204, 'POST', `${lab.path}/close`);
    await client.expect(201, 'POST', `${lab.path}/open`);
    t.equal(((await client.get(lab.at(drawing))).body as Json)['svg'], svg, `${length}, reopened`);
  }
});

void t.test(
  'an update answers with 201, keeps what it does not name, and never changes the id',
  async (t) => {
    const lab = await Lab.make();
    const drawing = await lab.draw({ svg: SVG });
    const changed = await client.expect(201, 'PUT', lab.at(drawing), {
      drawing_id: UNKNOWN,
      project_id: UNKNOWN,
      x: 7,
      rotation: 360,
    });
    t.strictSame(changed, { ...drawing, x: 7, rotation: 360 });
    t.strictSame((await client.get(lab.at(drawing))).body, changed);
    t.strictSame(await lab.list(), [changed]);
  },
);

void t.test('every update is told, and the picture only when it changed', async (t) => {
  const lab = await Lab.make();
  const other = SVG.replace('rect', 'circle');
  const expected: Notification[] = [];
  const news = await lab.told(async () => {
    const drawing = await lab.draw({ svg: SVG });
    const { svg, ...rest } = drawing;
    t.equal(svg, SVG);
    for (const body of [{}, { x: 1 }, { x: 1, svg: SVG }, { x: 2, svg: other }]) {
      await client.expect(201, 'PUT', lab.at(drawing), body);
    }
    await client.put(lab.at(drawing), { x: 'wrong' });
    await client.expect(204, 'DELETE', lab.at(drawing));
    expected.push(
      { action: 'drawing.created', event: drawing },
      { action: 'drawing.updated', event: rest },
      { action: 'drawing.updated', event: { ...rest, x: 1 } },
      { action: 'drawing.updated', event: { ...rest, x: 1 } },
      { action: 'drawing.updated', event: { ...drawing, x: 2, svg: other } },
      { action: 'drawing.deleted', event: { ...drawing, x: 2, svg: other } },
    );
  });
  t.strictSame(news, expected);
});

void t.test('a request that is no drawing is refused with what was wrong', async (t) => {
  const lab = await Lab.make();
  const drawing = await lab.draw();
  const base = '/v2/projects/{project_id}/drawings';
  const cases: [field: string, body: Json][] = [
    ['x', { x: 1.5 }],
    ['y', { y: '3' }],
    ['z', { z: null }],
    ['locked', { locked: 1 }],
    ['rotation', { rotation: 361 }],
    ['rotation', { rotation: -360 }],
    ['svg', { svg: 5 }],
    ['drawing_id', { drawing_id: 'no-uuid' }],
    ['colour', { colour: 'red' }],
  ];
  for (const [field, body] of cases) {
    const posted = await client.post(lab.drawings, body);
    t.hasStrict(posted, { status: 400, body: { method: 'POST', path: base, request: body, status: 400 } });
    t.match(posted.text, field);
    const put = await client.put(lab.at(drawing), body);
    t.hasStrict(put, { status: 400, body: { method: 'PUT', path: `${base}/{drawing_id}`, request: body } });
    t.match(put.text, field);
  }
  t.strictSame(await lab.list(), [drawing]);
});

void t.test('a locked drawing cannot be deleted until it is unlocked', async (t) => {
  const lab = await Lab.make();
  const drawing = await lab.draw({ locked: true });
  t.hasStrict(
    await client.delete(lab.at(drawing)),
    refusal(409, `Drawing ID ${String(drawing['drawing_id'])} cannot be deleted because it is locked`),
  );
  t.strictSame(await lab.list(), [drawing]);
  t.hasStrict(await client.put(lab.at(drawing), { locked: false }), { status: 201 });
  t.equal((await client.delete(lab.at(drawing))).status, 204);
  t.strictSame(await lab.list(), []);
});

void t.test('missing drawings are not found', async (t) => {
  const [lab, other] = [await Lab.make(), await Lab.make()];
  const elsewhere = await other.draw();
  for (const id of [UNKNOWN, 'nonsense', String(elsewhere['drawing_id'])]) {
    const missing = refusal(404, `Drawing ID ${id} doesn't exist`);
    const path = lab.at({ drawing_id: id });
    t.hasStrict(await client.get(path), missing);
    t.hasStrict(await client.put(path, { x: 1 }), missing);
    t.hasStrict(await client.delete(path), missing);
  }
  t.strictSame(await other.list(), [elsewhere]);
  const noProject = refusal(404, `Project ID ${UNKNOWN} doesn't exist`);
  t.hasStrict(await client.get(`/v2/projects/${UNKNOWN}/drawings`), noProject);
  t.hasStrict(await client.post(`/v2/projects/${UNKNOWN}/drawings`), noProject);
});

void t.test('a closed project lists its drawings as its file has them and refuses the rest', async (t) => {
  const lab = await Lab.make();
  const drawing = await lab.draw({ svg: SVG });
  await client.expect(204, 'POST', `${lab.path}/close`);
  const { project_id, ...stored } = drawing;
  t.equal(project_id, lab.id);
  t.strictSame(await lab.list(), [stored]);
  const closed = refusal(403, 'The project is not opened');
  t.hasStrict(await client.post(lab.drawings), closed);
  t.hasStrict(await client.get(lab.at(drawing)), closed);
  t.hasStrict(await client.put(lab.at(drawing), {}), closed);
  t.hasStrict(await client.delete(lab.at(drawing)), closed);
});

void t.test('drawings are listed in creation order, also after changes and a reopening', async (t) => {
  const lab = await Lab.make();
  const ids: unknown[] = [];
  for (const first of ['f', '0', 'a', '7', 'c']) {
    const drawing_id = `${first}0000000-0000-4000-8000-000000000000`;
    ids.push((await lab.draw({ drawing_id }))['drawing_id']);
  }
  const order = async (): Promise<unknown[]> => (await lab.list()).map(({ drawing_id }) => drawing_id);
  t.strictSame(await order(), ids);
  await client.expect(201, 'PUT', lab.at({ drawing_id: ids[0] }), { x: 5 });
  t.strictSame(await order(), ids);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.strictSame(await order(), ids, 'closed');
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.strictSame(await order(), ids, 'open again');
});
