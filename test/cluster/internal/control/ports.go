package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// Ports are the loopback ports of a control plane.
type Ports struct{ API, EtcdClient, EtcdPeer int }

// MachinePorts returns the ports of the control plane that machines join. The ports are fixed,
// because the files of a machine contain them before the machine boots.
func MachinePorts() Ports { return Ports{API: 16443, EtcdClient: 16379, EtcdPeer: 16380} }

// KeptPorts returns the ports that a file contains, so that a control plane has the same ports at
// each start. If the file is missing, KeptPorts chooses free ports and writes the file.
func KeptPorts(file string) (p Ports, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return choosePorts(file)
	}
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read ports %s: %w", file, err)
	}
	return p, nil
}

func choosePorts(file string) (p Ports, err error) {
	for _, port := range []*int{&p.API, &p.EtcdClient, &p.EtcdPeer} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return p, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	data, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	return p, os.WriteFile(file, data, 0o644)
}

func (p Ports) etcdClient() string { return fmt.Sprintf("http://127.0.0.1:%d", p.EtcdClient) }
func (p Ports) etcdPeer() string   { return fmt.Sprintf("http://127.0.0.1:%d", p.EtcdPeer) }
