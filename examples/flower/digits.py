"""FedSMOO as a Flower app: ten clients with handwritten digits, five of them in a round."""

import torch
from flwr.app import ArrayRecord, MetricRecord
from flwr.serverapp import ServerApp
from flwr.simulation import run_simulation
from sklearn.datasets import load_digits
from torch import nn

import fedsharp
from fedsharp.flower import FedSMOO, client_app

digits = load_digits()
x, y = torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target)
parts = fedsharp.partition(y[:1500], "dirichlet:0.3", clients=10, seed=0)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def node(context):
    part = parts[context.node_config["partition-id"]]
    return network(), (x[part], y[part])


client = client_app(node)
server = ServerApp()


@server.main()
def main(grid, context):
    model = network()

    def evaluate(server_round, arrays):
        model.load_state_dict(arrays.to_torch_state_dict())
        with torch.no_grad():
            right = (model(x[1500:]).argmax(1) == y[1500:]).float().mean()
        print(f"round {server_round}: accuracy {right:.3f}", flush=True)
        return MetricRecord({"accuracy": float(right)})

    strategy = FedSMOO(network(), clients=10, cohort=5, local_epochs=2, batch_size=16, lr=0.1, rho=0.1, seed=0)
    rounds = int(context.run_config.get("rounds", 10))
    strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=rounds, evaluate_fn=evaluate)


if __name__ == "__main__":
    run_simulation(server, client, num_supernodes=10)
