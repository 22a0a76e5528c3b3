// The page of "kubectl numalet ui". It reads /data/* every few seconds while it is visible.

const interval = 5000 // milliseconds between two readings
const maxPoints = 2000 // of each line of the chart

const $ = id => document.getElementById(id)

/** element makes an element with text, properties and children. */
function element(tag, properties = {}, ...children) {
  const e = Object.assign(document.createElement(tag), properties)
  e.append(...children)
  return e
}

const number = x => Number.isInteger(x) ? String(x) : x.toFixed(2)
const sum = (list, of) => list.reduce((total, x) => total + of(x), 0)

// --- nodes

const cells = new Map() // name of a node -> { item, button, key, node }

function showNodes(nodes) {
  const gone = new Set(cells.keys())
  for (const node of nodes) {
    gone.delete(node.name)
    showNode(node)
  }
  for (const name of gone) {
    cells.get(name).item.remove()
    cells.delete(name)
  }
  showTotals(nodes)
  filterNodes()
}

/** showNode makes or updates the cell of a node. It leaves a cell as it is if its node has not changed. */
function showNode(node) {
  let cell = cells.get(node.name)
  const key = JSON.stringify(node)
  if (cell && cell.key === key) return
  if (!cell) {
    const button = element('button', { type: 'button', onclick: () => { location.hash = 'node=' + encodeURIComponent(node.name) } })
    cell = { button, item: element('li', {}, button) }
    cells.set(node.name, cell)
    $('grid').append(cell.item)
  }
  Object.assign(cell, { key, node })
  const free = sum(node.numa, n => n.available), all = sum(node.numa, n => n.allocatable)
  const gpus = sum(node.numa, n => n.gpus), freeGPUs = sum(node.numa, n => n.freeGPUs)
  const text = `free: ${free}/${all} CPUs` + (gpus ? `, ${freeGPUs}/${gpus} GPUs` : '')
  cell.button.classList.toggle('notReady', node.ready !== 'True')
  cell.button.replaceChildren(
    element('span', { className: 'name', textContent: node.name + (node.ready === 'True' ? '' : ' (not ready)') }),
    ...node.numa.map(bar), element('small', { textContent: text }))
}

/** bar draws the CPUs of a NUMA node. */
function bar(numa) {
  const share = n => `${100 * n / Math.max(1, numa.capacity)}%`
  const exclusive = element('span', { className: 'exclusive' }), reserved = element('span', { className: 'reserved' })
  exclusive.style.width = share(numa.allocatable - numa.available)
  reserved.style.width = share(numa.capacity - numa.allocatable)
  return element('span', { className: 'bar' }, exclusive, reserved)
}

function showTotals(nodes) {
  const numa = nodes.flatMap(n => n.numa)
  $('totals').textContent = `${nodes.length} nodes, ${nodes.filter(n => n.ready === 'True').length} ready. ` +
    `${sum(numa, n => n.available)} of ${sum(numa, n => n.allocatable)} CPUs and ${sum(numa, n => n.freeGPUs)} of ${sum(numa, n => n.gpus)} GPUs are free.`
}

function filterNodes() {
  const text = $('filter').value.trim(), onlyFree = $('free').checked
  for (const [name, { item, node }] of cells) {
    item.hidden = !name.includes(text) || onlyFree && !node.numa.some(n => n.freeGPUs > 0)
  }
}
$('filter').oninput = filterNodes
$('free').onchange = filterNodes

// --- the map of one node, named by the fragment of the address

let shown = ''

function showMap() {
  const match = /^#node=(.+)$/.exec(location.hash)
  const name = match ? decodeURIComponent(match[1]) : ''
  const opened = name && name !== shown
  shown = name
  $('node').hidden = !name
  if (!name) return
  const address = '/nodes/' + encodeURIComponent(name)
  $('node-title').textContent = `Map of ${name}`
  $('map').alt = `Map of ${name}: its packages, NUMA nodes, caches, cores and GPUs, and who holds them`
  $('map').src = address + '?' + Date.now() // not from the cache
  $('svg').href = address
  $('svg').download = name + '.svg'
  if (opened) {
    $('node').scrollIntoView()
    $('node-title').focus()
  }
}
window.addEventListener('hashchange', showMap)
$('close').onclick = () => {
  const cell = cells.get(shown)
  history.pushState(null, '', '#nodes')
  showMap()
  cell?.button.focus()
}

// --- tables

/** rows fills the body of a table, a list of texts for each row. */
function rows(id, lines, none) {
  const body = lines.map(line => element('tr', {}, ...line.map(text => element('td', { textContent: text }))))
  if (!body.length) body.push(element('tr', {}, element('td', { textContent: none, colSpan: 9 })))
  $(id).replaceChildren(...body)
}

function showQueue({ namespace, pods }) {
  $('queue-title').textContent = namespace ? `Queue: only the namespace ${namespace}` : 'Queue'
  rows('queue-rows', (pods ?? []).map(({ metadata: m, status: s }) =>
    [s.position || '–', `${m.namespace}/${m.name}`, s.type, s.tenant, number(s.score), s.waited, s.waitsFor]), 'No pod that you may see is pending.')
}

const showGroups = groups => rows('groups-rows', groups.map(g =>
  [g.name, (g.tenants ?? []).join(', '), g.type || 'any', number(g.used), g.gpus, g.accepted === 'True' ? 'yes' : g.message || 'not yet']), 'There are no GPU groups that you may see.')

// --- tenants and the chart of their scores

const scoresOf = new Map() // type -> { times: [seconds], scores: Map(tenant -> [score]) }
let chart

function showTenants(tenants) {
  rows('tenants-rows', tenants.map(t => [t.name, t.type, number(t.usage), t.quota || 'none', number(t.score), number(t.weight)]),
    'There are no Tenants that you may see.')
  const now = Date.now() / 1000
  for (const type of new Set(tenants.map(t => t.type))) remember(type, now, tenants.filter(t => t.type === type))
  const select = $('type'), known = [...select.options].map(o => o.value)
  for (const type of scoresOf.keys()) if (!known.includes(type)) select.append(element('option', { value: type, textContent: type }))
  drawChart()
}

/** remember adds a point to the line of each tenant in the chart of a type of resource. */
function remember(type, now, tenants) {
  const h = scoresOf.get(type) ?? { times: [], scores: new Map() }
  scoresOf.set(type, h)
  h.times.push(now)
  for (const t of tenants) {
    if (!h.scores.has(t.name)) h.scores.set(t.name, Array(h.times.length - 1).fill(null))
  }
  for (const [name, scores] of h.scores) scores.push(tenants.find(t => t.name === name)?.score ?? null)
  if (h.times.length > maxPoints) for (const line of [h.times, ...h.scores.values()]) line.shift()
}

const colours = ['#0a7ea4', '#d4730a', '#8250df', '#1a7f37', '#cf222e', '#bf3989', '#6e7781']

function drawChart() {
  const h = scoresOf.get($('type').value)
  if (!h) return
  const names = [...h.scores.keys()], data = [h.times, ...h.scores.values()]
  if (chart && chart.names.join() === names.join()) {
    chart.plot.setData(data)
    return
  }
  chart?.plot.destroy()
  const text = getComputedStyle(document.body).color
  const axis = { stroke: text, grid: { stroke: '#8884' } }
  const series = [{}, ...names.map((label, i) => ({ label, stroke: colours[i % colours.length], width: 2 }))]
  const plot = new uPlot({ width: Math.min(900, $('chart').clientWidth || 900), height: 220, series, axes: [axis, axis] }, data, $('chart'))
  chart = { plot, names }
}
$('type').onchange = () => {
  chart?.plot.destroy()
  chart = undefined
  drawChart()
}

// --- reading

/** read loads one list and shows it, or why it cannot be shown. */
async function read(what, show) {
  const problem = $(what + '-problem')
  try {
    const response = await fetch('/data/' + what)
    if (!response.ok) throw new Error(await response.text())
    show(await response.json() ?? [])
    problem.hidden = true
    return true
  } catch (error) {
    problem.textContent = error.message
    problem.hidden = false
    return false
  }
}

async function refresh() {
  if (!document.hidden) {
    const done = await Promise.all([read('nodes', showNodes), read('queue', showQueue), read('tenants', showTenants), read('groups', showGroups)])
    showMap()
    $('updated').textContent = done.every(Boolean) ? 'Updated ' + new Date().toLocaleTimeString() : 'Some parts cannot be shown'
  }
  setTimeout(refresh, interval)
}
document.addEventListener('visibilitychange', () => { if (!document.hidden) showMap() })
refresh()
