/** Kinds of node whose programs this server cannot drive. */
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t);
const client = new Client(server.url);

/** The settings that a template of the kind must have. */
const TEMPLATES = { traceng: {}, virtualbox: { vmname: 'V' }, vmware: { vmx_path: '/v.vmx' } };
const SENTENCES = {
  traceng: 'TraceNG is not available on this host: it is a program for Windows',
  virtualbox: 'VirtualBox is not available on this host',
  vmware: 'VMware is not available on this host',
};

void t.test('a node of a kind that no host of this server has is refused with the reason', async (t) => {
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name: 'lab' });
  const compute = await ComputeLab.open(client);
  for (const [type, message] of Object.entries(SENTENCES)) {
    const refusal = { message, status: 409, code: 'node_kind_unavailable' };
    const body = { name: 'N', node_type: type, compute_id: 'local' };
    t.match(await client.expect(409, 'POST', `/v2/projects/${String(id)}/nodes`, body), refusal);
    t.match(await client.expect(409, 'POST', `${compute.path}/${type}/nodes`, { name: 'N' }), refusal);
  }
  for (const [type, settings] of Object.entries(TEMPLATES)) {
    const template = { name: type, template_type: type, compute_id: 'local', ...settings };
    const { template_id: of } = await client.expect(201, 'POST', '/v2/templates', template);
    const path = `/v2/projects/${String(id)}/templates/${String(of)}`;
    const { body } = await client.post(path, { x: 0, y: 0 });
    t.match(
      body,
      { status: 409, message: SENTENCES[type as keyof typeof SENTENCES] },
      `${type} of a template`,
    );
  }
  const { capabilities } = await client.expect(200, 'GET', '/v2/computes/local');
  const { node_types: types } = capabilities as { node_types: string[] };
  t.notOk(types.some((type) => type in SENTENCES));
});

void t.test('the virtual machines of programs that are not there are refused, too', async (t) => {
  for (const type of ['virtualbox', 'vmware'] as const) {
    for (const path of [`/v2/compute/${type}/vms`, `/v2/computes/local/${type}/vms`]) {
      t.match(await client.expect(409, 'GET', path), { message: SENTENCES[type] });
    }
    await client.expect(404, 'GET', `/v2/computes/nowhere/${type}/vms`);
  }
});
